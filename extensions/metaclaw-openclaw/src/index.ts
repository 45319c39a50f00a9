/** The entry point: OpenClaw calls `register`, often and in several processes, so nothing here does more than register. */

import { GRANT, ID, mayReadConversations } from "./access.ts";
import { offerCli } from "./cli.ts";
import { type Conversations, shared } from "./conversations.ts";
import type { Logger, PluginApi } from "./host.ts";
import { identify } from "./identification.ts";
import { remember } from "./remembering.ts";
import { type Settings, settingsFrom } from "./settings.ts";
import { setUp } from "./setup.ts";
import { offerCommands } from "./slash.ts";
import { offerTools } from "./tools.ts";
import { reason } from "./trouble.ts";

const AGENT_MODES = new Set(["full", "discovery", "tool-discovery"]);

export default {
  id: ID,
  name: "MetaClaw",
  description: "Connects OpenClaw to MetaClaw: identifies conversations, offers memory, sets MetaClaw up when asked.",
  register(api: PluginApi): void {
    const settings = settingsFrom(api.pluginConfig);
    offerCli(api, settings);
    if (!AGENT_MODES.has(api.registrationMode)) return;
    const conversations = shared(api.runtime.state.resolveStateDir(), api.version ?? "");
    identify(api, settings, conversations);
    if (mayReadConversations(api.config)) remember(api, settings, conversations);
    offerTools(api, settings, conversations);
    offerCommands(api, settings);
    if (api.registrationMode !== "full") return;
    api.registerService({ id: ID, start: (context) => start(api, settings, context.logger, conversations) });
  },
};

/** Returns at once, or OpenClaw's gateway would take it for a failure; what was asked for goes on in the background. */
function start(api: PluginApi, settings: Settings, logger: Logger, conversations: Conversations): void {
  void conversations.handshake.gatewayHasMemory(api.config);
  if (!mayReadConversations(api.config)) {
    logger.info(`MetaClaw: conversations are identified; hooks that see them are not allowed yet. To allow: ${GRANT}`);
  }
  const { autoInstallMetaclaw: install, bootstrapMetaclawConfig: configure, autoStartMetaclaw: run } = settings;
  if (!install && !configure && !run) return;
  const say = (line: string) => logger.info(`MetaClaw set-up: ${line}`);
  setUp(api, settings, { install, configure, start: run }, say).catch((error: unknown) => {
    logger.error(`MetaClaw set-up: ${reason(error)}`);
  });
}
