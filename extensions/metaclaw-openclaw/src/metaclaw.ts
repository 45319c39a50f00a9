/** MetaClaw's addresses and the one HTTP client for them. It never throws away the agent's turn: callers fail open. */

import { readFileSync } from "node:fs";
import http, { type RequestOptions } from "node:http";
import https from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";

import type { HostConfig } from "./host.ts";
import type { Settings } from "./settings.ts";

export const PROVIDER = "metaclaw";
const GATEWAY = "http://127.0.0.1:30000";

/** MetaClaw gave no answer, or refused; the message is one line for people. */
export class MetaClawError extends Error {
  readonly status: number;

  constructor(message: string, status = 0) {
    super(message);
    this.status = status;
  }
}

/** A place that answers, and the key it wants to see. */
export interface Place {
  url: string;
  key: string;
}

/** MetaClaw's gateway: where OpenClaw's own configuration has it, else where it listens by default. */
export function gatewayOf(config: HostConfig): Place {
  const wired = config.models?.providers?.[PROVIDER];
  const url = (wired?.baseUrl ?? GATEWAY).replace(/\/+$/, "").replace(/\/v1$/, "");
  return { url, key: typeof wired?.apiKey === "string" ? wired.apiKey : "" };
}

/** Does OpenClaw know MetaClaw as a provider? */
export function isWired(config: HostConfig): boolean {
  return Boolean(config.models?.providers?.[PROVIDER]?.baseUrl);
}

/** Is MetaClaw's model the one that answers by default? */
export function isInUse(config: HostConfig): boolean {
  const model = config.agents?.defaults?.model;
  const ref = typeof model === "string" ? model : (model?.primary ?? "");
  return isWired(config) && ref.startsWith(`${PROVIDER}/`);
}

/** Where memory is: at the address the settings name, else behind the gateway, which passes the whole API on. */
export function memoryOf(config: HostConfig, settings: Settings): Place | undefined {
  if (settings.sidecarUrl) return { url: settings.sidecarUrl.replace(/\/+$/, ""), key: "" };
  if (!isWired(config)) return undefined;
  const gateway = gatewayOf(config);
  return { url: `${gateway.url}/v1/memory`, key: gateway.key };
}

/**
 * Ask for JSON. `timeout` is in milliseconds. Throws MetaClawError. Not with `fetch`: OpenClaw may have put a proxy
 * behind it, and MetaClaw is on this machine.
 */
export async function ask(
  place: Place,
  method: "GET" | "POST" | "DELETE",
  path: string,
  wanted: { body?: unknown; timeout: number; signal?: AbortSignal | undefined },
): Promise<Record<string, unknown>> {
  const body = method === "POST" ? JSON.stringify(wanted.body ?? {}) : "";
  const limit = AbortSignal.timeout(wanted.timeout);
  const signal = wanted.signal ? AbortSignal.any([limit, wanted.signal]) : limit;
  let answer: Answer;
  try {
    answer = await exchange(new URL(place.url + path), { method, headers: headersFor(place, body), signal }, body);
  } catch (error) {
    const why = limit.aborted ? `no answer in ${wanted.timeout} ms` : ((error as NodeJS.ErrnoException).code ?? "no answer");
    throw new MetaClawError(`${place.url} is out of reach (${why})`);
  }
  const value = parsed(answer.text);
  if (answer.status < 400) return value;
  throw new MetaClawError(`${place.url}${path} answered ${answer.status}: ${reasonIn(value)}`, answer.status);
}

interface Answer {
  status: number;
  text: string;
}

function exchange(url: URL, options: RequestOptions, body: string): Promise<Answer> {
  const { request, Agent } = url.protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...options, agent: new Agent() }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** MetaClaw's run file proves who we are even where OpenClaw's configuration names no key, as its owner can read it. */
function headersFor(place: Place, body: string): Record<string, string> {
  const headers: Record<string, string> = { "x-metaclaw-client": "openclaw" };
  if (body) headers["content-type"] = "application/json";
  headers["content-length"] = String(Buffer.byteLength(body));
  if (place.key) headers["x-metaclaw-key"] = place.key;
  const token = tokenFor(place.url);
  if (token) headers["x-metaclaw-token"] = token;
  return headers;
}

/** MetaClaw's state folder. */
export function metaclawHome(): string {
  return process.env["METACLAW_HOME"] ?? join(homedir(), ".metaclaw");
}

function tokenFor(url: string): string {
  for (const name of ["gateway", "sidecar"]) {
    try {
      const run = JSON.parse(readFileSync(join(metaclawHome(), "run", `${name}.json`), "utf8")) as Record<string, unknown>;
      if (isOf(url, run["port"]) && typeof run["token"] === "string") return run["token"];
    } catch {
      // Not running, or not ours: then there is no token to show.
    }
  }
  return "";
}

function isOf(url: string, port: unknown): boolean {
  const { hostname, port: asked } = new URL(url);
  return ["127.0.0.1", "localhost", "[::1]"].includes(hostname) && asked === String(port);
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function reasonIn(value: Record<string, unknown>): string {
  const error = value["error"];
  const message = typeof error === "object" && error !== null ? (error as Record<string, unknown>)["message"] : undefined;
  return typeof message === "string" ? message : "no reason given";
}
