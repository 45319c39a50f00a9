/** The host's permission for hooks that see a conversation; without it OpenClaw blocks them silently. */

import type { HostConfig } from "./host.ts";

export const ID = "metaclaw-openclaw";
export const GRANT = `openclaw config set plugins.entries.${ID}.hooks.allowConversationAccess true`;

/** Did the owner of the machine allow this plugin to see conversations? */
export function mayReadConversations(config: HostConfig): boolean {
  const hooks = config.plugins?.entries?.[ID]?.hooks;
  return hooks?.allowConversationAccess === true && hooks.allowPromptInjection !== false;
}
