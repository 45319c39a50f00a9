/** The model OpenClaw answers with now, in MetaClaw's words, so that MetaClaw can stand in between. */

import type { HostConfig, PluginApi } from "./host.ts";
import { PROVIDER } from "./metaclaw.ts";

const PROTOCOLS: Record<string, string> = {
  "openai-completions": "chat",
  "openai-responses": "responses",
  "anthropic-messages": "messages",
};
/** Providers of OpenClaw that MetaClaw knows too, by its names. */
const KNOWN: Record<string, string> = {
  anthropic: "anthropic",
  google: "gemini",
  minimax: "minimax",
  moonshot: "kimi",
  novita: "novita",
  ollama: "ollama",
  openai: "openai",
  openrouter: "openrouter",
  qwen: "qwen",
  volcengine: "volcengine",
};

export interface Upstream {
  title: string;
  options: string[]; // of `metaclaw setup`
  key: string;
}

/** Undefined where that can't be said for sure: no model yet, MetaClaw itself, a subscription, an unknown provider. */
export async function upstreamOf(api: PluginApi): Promise<Upstream | undefined> {
  const [provider, ...rest] = reference(api.config).split("/");
  const model = rest.join("/");
  if (!provider || !model || provider === PROVIDER) return undefined;
  const own = api.config.models?.providers?.[provider];
  const where = own?.baseUrl ? custom(own.baseUrl, own.api) : named(KNOWN[provider]);
  if (!where) return undefined;
  const { apiKey = "", mode } = await auth(api, provider);
  if (mode && mode !== "api-key") return undefined;
  if (!apiKey && !own?.baseUrl && provider !== "ollama") return undefined;
  return { title: `${provider}/${model}`, options: [...where, "--model", model], key: apiKey };
}

function reference(config: HostConfig): string {
  const model = config.agents?.defaults?.model;
  return typeof model === "string" ? model : (model?.primary ?? "");
}

function custom(baseUrl: string, api: string | undefined): string[] {
  return ["--provider", "custom", "--api-base", baseUrl, "--protocol", PROTOCOLS[api ?? ""] ?? "auto"];
}

function named(provider: string | undefined): string[] | undefined {
  return provider ? ["--provider", provider] : undefined;
}

async function auth(api: PluginApi, provider: string): Promise<{ apiKey?: string; mode?: string }> {
  const written = api.config.models?.providers?.[provider]?.apiKey;
  if (typeof written === "string" && written) return { apiKey: written };
  try {
    return await api.runtime.modelAuth.resolveApiKeyForProvider({ provider, cfg: api.config as never });
  } catch {
    return {}; // OpenClaw has no key for it
  }
}
