/** The entry point: OpenClaw calls `register`, often and in several processes, so nothing here does more than register. */

import { GRANT, ID, mayReadConversations } from "./access.ts";
import { type Conversations, shared } from "./conversations.ts";
import type { HostConfig, Logger, PluginApi } from "./host.ts";
import { identify } from "./identification.ts";
import { remember } from "./remembering.ts";
import { settingsFrom } from "./settings.ts";
import { offerCommands } from "./slash.ts";
import { offerTools } from "./tools.ts";

const AGENT_MODES = new Set(["full", "discovery", "tool-discovery"]);

export default {
  id: ID,
  name: "MetaClaw",
  description: "Connects OpenClaw to MetaClaw: identifies conversations, offers memory, sets MetaClaw up when asked.",
  register(api: PluginApi): void {
    if (!AGENT_MODES.has(api.registrationMode)) return;
    const settings = settingsFrom(api.pluginConfig);
    const conversations = shared(api.runtime.state.resolveStateDir(), api.version ?? "");
    identify(api, settings, conversations);
    if (mayReadConversations(api.config)) remember(api, settings, conversations);
    offerTools(api, settings, conversations);
    offerCommands(api, settings);
    if (api.registrationMode === "full") api.registerService({ id: ID, start: (context) => start(context, conversations) });
  },
};

/** Returns at once, or OpenClaw's gateway would take it for a failure; one line says what is off. */
function start({ config, logger }: { config: HostConfig; logger: Logger }, conversations: Conversations): void {
  void conversations.handshake.gatewayHasMemory(config);
  if (mayReadConversations(config)) return;
  logger.info(`MetaClaw: conversations are identified; hooks that see them are not allowed yet. To allow: ${GRANT}`);
}
