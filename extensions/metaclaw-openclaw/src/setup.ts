/** Installs, configures and starts MetaClaw, when the owner of the machine asked for it; each step only where it is due. */

import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

import type { HostConfig, PluginApi } from "./host.ts";
import { ask, gatewayOf, metaclawHome } from "./metaclaw.ts";
import { findProgram, inVenv, run, venvOf } from "./program.ts";
import type { Settings } from "./settings.ts";
import { upstreamOf } from "./upstream.ts";

const PYTHONS = ["python3.13", "python3.12", "python3.11", "python3", "python"];
const LOOK_MS = 10_000;
const INSTALL_MS = 30 * 60_000;
const PROGRESS_MS = 5000;
const COMMAND_MS = 5 * 60_000;

export interface Steps {
  install: boolean;
  configure: boolean;
  start: boolean;
}

/** One line of progress. */
export type Say = (line: string) => void;

/** Carry the steps out. Throws an Error with one line: what failed, and what to do. */
export async function setUp(api: PluginApi, settings: Settings, steps: Steps, say: Say): Promise<void> {
  const release = takeLock();
  try {
    if (steps.install) await install(api, settings, say);
    const ready = steps.configure ? await configure(api, settings, say) : true;
    if (steps.start && ready) await start(api, settings, say);
  } finally {
    release();
  }
}

/** The wheel and the tested versions beside the plugin; nothing where it was packed without. */
export function shipped(rootDir: string | undefined): { wheel?: string; constraints?: string } {
  const folder = join(rootDir ?? "", "wheels");
  const files = rootDir && existsSync(folder) ? readdirSync(folder) : [];
  const wheel = files.find((name) => name.endsWith(".whl"));
  const constraints = files.includes("constraints.txt") ? { constraints: join(folder, "constraints.txt") } : {};
  return { ...(wheel ? { wheel: join(folder, wheel) } : {}), ...constraints };
}

/** What pip is told: the given specification, else the wheel in the package, else this version from the user's index. */
export function pipArguments(settings: Settings, rootDir: string | undefined, version: string): string[] {
  const { wheel, constraints } = shipped(rootDir);
  const tested = settings.pipInstallSpec || !constraints ? [] : ["--constraint", constraints];
  return ["install", "--progress-bar", "off", ...tested, ...settings.pipExtraArgs, settings.pipInstallSpec || wheel || `metaclaw==${version}`];
}

async function install(api: PluginApi, settings: Settings, say: Say): Promise<void> {
  const known = findProgram(settings);
  if (known) {
    say(`MetaClaw is installed: ${known}`);
    return;
  }
  const venv = venvOf(settings);
  const python = inVenv(venv, "python");
  if (!existsSync(python)) {
    say(`making a Python environment in ${venv}`);
    await step(await findPython(settings), ["-m", "venv", venv], COMMAND_MS, "a Python environment could not be made");
  }
  say("installing MetaClaw; this takes a minute or two");
  const args = ["-m", "pip", ...pipArguments(settings, api.rootDir, api.version ?? "")];
  await step(python, args, INSTALL_MS, "MetaClaw could not be installed", nowAndThen(say));
  if (!findProgram(settings)) throw new Error(`pip went well, but there is no metaclaw in ${venv}: check pipInstallSpec`);
}

/** What pip is at, every few seconds. */
function nowAndThen(say: Say): Say {
  let told = performance.now();
  return (line) => {
    if (performance.now() - told < PROGRESS_MS || !/^(Collecting|Downloading|Installing)/.test(line)) return;
    told = performance.now();
    say(line.slice(0, 100));
  };
}

async function findPython(settings: Settings): Promise<string> {
  const code = "import sys; sys.exit(sys.version_info < (3, 11))";
  for (const name of settings.pipPython ? [settings.pipPython] : PYTHONS) {
    try {
      if ((await run(name, ["-c", code], { timeout: LOOK_MS })).code === 0) return name;
    } catch {
      // Not on this machine.
    }
  }
  throw new Error("Python 3.11 or newer is needed: install it, or name it in the plugin's setting pipPython");
}

/** A default configuration from the model that OpenClaw uses now. Without one nothing is connected, so nothing breaks. */
async function configure(api: PluginApi, settings: Settings, say: Say): Promise<boolean> {
  const file = join(metaclawHome(), "config.yaml");
  if (existsSync(file)) {
    say(`the configuration stays as it is: ${file}`);
    return true;
  }
  const upstream = await upstreamOf(api);
  if (!upstream) {
    say("OpenClaw's model can't be taken over by itself: choose one with `metaclaw setup`, then `metaclaw start`");
    return false;
  }
  const args = ["setup", "--yes", "--no-test", "--claw", "openclaw", "--mode", "skills_only", ...upstream.options];
  const key = upstream.key ? ["--api-key-stdin"] : [];
  await command(settings, [...args, ...key], "the configuration could not be written", upstream.key);
  say(`wrote ${file}: ${upstream.title} answers`);
  return true;
}

async function start(api: PluginApi, settings: Settings, say: Say): Promise<void> {
  if (await isHealthy(api.config)) {
    say("MetaClaw runs");
    return;
  }
  say("starting MetaClaw");
  await command(settings, ["start", ...settings.metaclawStartArgs], "MetaClaw did not start");
  say("MetaClaw runs");
}

async function isHealthy(config: HostConfig): Promise<boolean> {
  try {
    return (await ask(gatewayOf(config), "GET", "/healthz", { timeout: 2000 }))["ok"] === true;
  } catch {
    return false;
  }
}

async function command(settings: Settings, args: string[], failure: string, input = ""): Promise<void> {
  const program = findProgram(settings);
  if (!program) throw new Error("the metaclaw command is not installed on this machine: openclaw metaclaw setup");
  await step(program, args, COMMAND_MS, failure, undefined, input);
}

async function step(program: string, args: string[], timeout: number, failure: string, line?: Say, input = ""): Promise<void> {
  const done = await run(program, args, { timeout, input, ...(line ? { line } : {}) });
  if (done.code === 0) return;
  const said = done.output.split("\n").filter((one) => one.trim()).slice(-3).join(" | ");
  throw new Error(`${failure}: ${said || `${program} ended with ${done.code}`}`);
}

/** One set-up at a time on this machine; a lock of a process that is gone doesn't count. */
function takeLock(): () => void {
  const folder = join(metaclawHome(), "run");
  const file = join(folder, "plugin-setup.lock");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (existsSync(file) && !isAlive(Number(readFileSync(file, "utf8")))) rmSync(file, { force: true });
  try {
    const lock = openSync(file, "wx", 0o600);
    writeSync(lock, String(process.pid));
    closeSync(lock);
  } catch {
    throw new Error(`another set-up is running (${file})`);
  }
  return () => rmSync(file, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
