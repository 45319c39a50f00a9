/** The plugin's configuration, as the manifest's schema lets it through, with its defaults. */

export interface Settings {
  sessionIdHeader: string;
  turnTypeHeader: string;
  scope: string;
  recall: boolean;
  capture: boolean;
  sidecarUrl: string;
  venvPath: string;
  metaclawCommand: string;
}

export const DEFAULTS: Readonly<Settings> = {
  sessionIdHeader: "X-Session-Id",
  turnTypeHeader: "X-Turn-Type",
  scope: "default",
  recall: true,
  capture: true,
  sidecarUrl: "",
  venvPath: "",
  metaclawCommand: "",
};

/** The settings in force. */
export function settingsFrom(given: Record<string, unknown> | undefined): Settings {
  return { ...DEFAULTS, ...given };
}
