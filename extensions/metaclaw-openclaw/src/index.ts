/** The entry point: OpenClaw calls `register`, often and in several processes, so nothing here does more than register. */

import { GRANT, ID, mayReadConversations } from "./access.ts";
import { shared } from "./conversations.ts";
import type { PluginApi } from "./host.ts";
import { identify } from "./identification.ts";
import { settingsFrom } from "./settings.ts";

const AGENT_MODES = new Set(["full", "discovery", "tool-discovery"]);

export default {
  id: ID,
  name: "MetaClaw",
  description: "Connects OpenClaw to MetaClaw: identifies conversations, offers memory, sets MetaClaw up when asked.",
  register(api: PluginApi): void {
    if (!AGENT_MODES.has(api.registrationMode)) return;
    identify(api, settingsFrom(api.pluginConfig), shared(api.runtime.state.resolveStateDir(), api.version ?? ""));
    if (api.registrationMode === "full") api.registerService({ id: ID, start: sayWhatIsOff });
  },
};

/** One line when the gateway starts. */
const sayWhatIsOff: Parameters<PluginApi["registerService"]>[0]["start"] = ({ config, logger }) => {
  if (mayReadConversations(config)) return;
  logger.info(`MetaClaw: conversations are identified; hooks that see them are not allowed yet. To allow: ${GRANT}`);
};
