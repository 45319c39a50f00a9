/** MetaClaw's own command line program: where it is, and how to run it. */

import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

import { metaclawHome } from "./metaclaw.ts";
import type { Settings } from "./settings.ts";

const PATIENCE_MS = 30_000;
const WINDOWS = process.platform === "win32";

export interface Done {
  code: number;
  output: string;
}

/** Where MetaClaw's environment is, or would be made. */
export function venvOf(settings: Settings): string {
  return settings.venvPath || join(metaclawHome(), "venv");
}

/** A program inside that environment. */
export function inVenv(venv: string, name: string): string {
  return WINDOWS ? join(venv, "Scripts", `${name}.exe`) : join(venv, "bin", name);
}

/** MetaClaw's program: the one the settings name, the one that set-up installed, or the one on the path. */
export function findProgram(settings: Settings): string | undefined {
  if (settings.metaclawCommand) return settings.metaclawCommand;
  const own = inVenv(venvOf(settings), "metaclaw");
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(Boolean);
  return [own, ...folders.map((folder) => join(folder, WINDOWS ? "metaclaw.exe" : "metaclaw"))].find(isProgram);
}

/** Run a program to its end, in a folder that outlives the plugin's temporary copy. Never through a shell. */
export function run(
  program: string,
  args: readonly string[],
  more: { input?: string; timeout: number; line?: (line: string) => void },
): Promise<Done> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NO_COLOR: "1", PYTHONUTF8: "1", PIP_DISABLE_PIP_VERSION_CHECK: "1" };
    const child = spawn(program, args, { env, timeout: more.timeout, windowsHide: true, cwd: process.cwd() });
    let output = "";
    const take = (part: Buffer) => {
      output = (output + part.toString("utf8")).slice(-100_000);
      for (const line of part.toString("utf8").split("\n")) if (line.trim()) more.line?.(line.trim());
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.stdin.on("error", () => undefined); // it may end without reading
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code: code ?? (signal ? 1 : 0), output: output.trim() }));
    child.stdin.end(more.input ?? "");
  });
}

/** What a `metaclaw` command prints. */
export async function runMetaClaw(settings: Settings, args: readonly string[]): Promise<string> {
  const program = findProgram(settings);
  if (!program) throw new Error("the metaclaw command is not installed on this machine: openclaw metaclaw setup");
  const done = await run(program, args, { timeout: PATIENCE_MS });
  return done.output || `metaclaw ${args.join(" ")} said nothing (exit code ${done.code})`;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
