/** The plugin's configuration, as the manifest's schema lets it through, with its defaults. */

export interface Settings {
  sessionIdHeader: string;
  turnTypeHeader: string;
  scope: string;
  recall: boolean;
  capture: boolean;
  sidecarUrl: string;
  oneClickMetaclaw: boolean;
  autoInstallMetaclaw: boolean;
  bootstrapMetaclawConfig: boolean;
  autoStartMetaclaw: boolean;
  pipPython: string;
  pipInstallSpec: string;
  pipExtraArgs: string[];
  venvPath: string;
  metaclawCommand: string;
  metaclawStartArgs: string[];
}

export const DEFAULTS: Readonly<Settings> = {
  sessionIdHeader: "X-Session-Id",
  turnTypeHeader: "X-Turn-Type",
  scope: "default",
  recall: true,
  capture: true,
  sidecarUrl: "",
  oneClickMetaclaw: false,
  autoInstallMetaclaw: false,
  bootstrapMetaclawConfig: false,
  autoStartMetaclaw: false,
  pipPython: "",
  pipInstallSpec: "",
  pipExtraArgs: [],
  venvPath: "",
  metaclawCommand: "",
  metaclawStartArgs: [],
};

/** The settings in force. One click means all three steps; OpenClaw fills in defaults, so a `false` declines none. */
export function settingsFrom(given: Record<string, unknown> | undefined): Settings {
  const settings: Settings = { ...DEFAULTS, ...given };
  if (!settings.oneClickMetaclaw) return settings;
  return { ...settings, autoInstallMetaclaw: true, bootstrapMetaclawConfig: true, autoStartMetaclaw: true };
}
