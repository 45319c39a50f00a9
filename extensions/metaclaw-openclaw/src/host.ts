/**
 * What this plugin uses of OpenClaw's plugin API, and no more. The real types come with OpenClaw itself, which is far
 * too large to depend on; the tests check that its own API can stand in for these.
 */

export interface Logger {
  debug?: (message: string) => void;
  info: (message: string) => void;
  warn: (message: string) => void;
  error: (message: string) => void;
}

/** `full` is the running gateway; other modes look at what the plugin offers, in other processes too. */
export type RegistrationMode = "full" | "discovery" | "tool-discovery" | "setup-only" | "setup-runtime" | "cli-metadata";

/** Who a hook is called for; any of it may be missing. */
export interface HookContext {
  runId?: string;
  agentId?: string;
  sessionKey?: string;
  sessionId?: string;
  modelProviderId?: string;
  trigger?: string;
  channel?: string;
  channelId?: string;
  messageProvider?: string;
  chatId?: string;
  senderId?: string;
  inputProvenance?: { kind: string; sourceTool?: string };
}

/** The hooks in use: their events, and what a handler may answer. */
export interface Hooks {
  session_end: (
    event: { sessionId: string; sessionKey?: string; reason?: string; nextSessionId?: string },
    context: HookContext,
  ) => Promise<void> | void;
  after_compaction: (event: { previousSessionId?: string }, context: HookContext) => void;
  message_received: (
    event: { senderId?: string; sessionKey?: string; from: string },
    context: { channelId: string; sessionKey?: string; conversationId?: string },
  ) => void;
  heartbeat_prompt_contribution: (event: { sessionKey?: string }, context: HookContext) => void;
  model_call_started: (
    event: { runId: string; sessionKey?: string; sessionId?: string; provider: string },
    context: HookContext,
  ) => void;
  before_prompt_build: (
    event: { prompt: string },
    context: HookContext,
  ) => Promise<{ appendContext: string } | undefined> | undefined;
  agent_end: (event: { runId?: string; messages: unknown[] }, context: HookContext) => Promise<void> | void;
}

export interface TransportContext {
  provider: string;
  sessionId?: string;
  turnId: string;
  attempt: number;
}

export interface Provider {
  id: string;
  label: string;
  auth: [];
  resolveTransportTurnState: (context: TransportContext) => { headers: Record<string, string> };
}

/** The part of OpenClaw's configuration that is read here. */
export interface HostConfig {
  models?: { providers?: Record<string, { baseUrl?: string; apiKey?: unknown; api?: string } | undefined> };
  plugins?: { slots?: { memory?: string }; entries?: Record<string, PluginEntry | undefined> };
  agents?: { defaults?: { model?: string | { primary?: string } } };
}

export interface PluginEntry {
  hooks?: { allowConversationAccess?: boolean; allowPromptInjection?: boolean };
}

export interface Service {
  id: string;
  start: (context: { config: HostConfig; logger: Logger }) => void;
}

export interface ToolResult {
  content: { type: "text"; text: string }[];
  details: unknown;
}

export interface Tool {
  name: string;
  label: string;
  description: string;
  parameters: { type: "object"; properties: Record<string, object>; required?: string[] };
  execute: (callId: string, given: Record<string, unknown>, signal?: AbortSignal) => Promise<ToolResult>;
}

export interface ToolContext {
  agentId?: string;
  sessionKey?: string;
  sessionId?: string;
  messageChannel?: string;
  requesterSenderId?: string;
}

export interface CommandContext {
  args?: string;
  channel: string;
  senderId?: string;
  agentId?: string;
  sessionKey?: string;
  isAuthorizedSender: boolean;
}

export interface SlashCommand {
  name: string;
  description: string;
  acceptsArgs: boolean;
  requireAuth: boolean;
  handler: (context: CommandContext) => Promise<{ text: string }>;
}

/** The part of a Commander command that is used. */
export interface CliCommand {
  command(nameAndArguments: string): CliCommand;
  description(text: string): CliCommand;
  option(flags: string, description: string, defaultValue?: string): CliCommand;
  action(handler: (...given: unknown[]) => Promise<void>): CliCommand;
}

export interface CliDescriptor {
  name: string;
  description: string;
  hasSubcommands: boolean;
}

/** `cfg` is the whole of OpenClaw's configuration, of which this plugin declares a part only. */
export interface KeyWanted {
  provider: string;
  cfg?: never;
}

export interface PluginApi {
  id: string;
  version?: string;
  rootDir?: string;
  registrationMode: RegistrationMode;
  config: HostConfig;
  pluginConfig?: Record<string, unknown>;
  logger: Logger;
  runtime: {
    version: string;
    state: { resolveStateDir: () => string };
    modelAuth: { resolveApiKeyForProvider: (wanted: KeyWanted) => Promise<{ apiKey?: string; mode?: string }> };
  };
  on: <Name extends keyof Hooks>(name: Name, handler: Hooks[Name]) => void;
  registerProvider: (provider: Provider) => void;
  registerService: (service: Service) => void;
  registerTool: (factory: (context: ToolContext) => Tool[] | null, options: { names: string[] }) => void;
  registerCommand: (command: SlashCommand) => void;
  registerCli: (
    registrar: (context: { program: CliCommand; config: HostConfig }) => void,
    options: { commands: string[]; descriptors: CliDescriptor[] },
  ) => void;
}
