import { chromiumCommand, headlessChromiumCommand } from "@parley/test-support";
import { type Browser, chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The full browser, or the headless shell, which has no window and starts faster. */
export type BrowserKind = "full" | "headless-shell";

const browsers = new Map<BrowserKind, Promise<Browser>>();

/** Returns the browser that the test files of a worker share. Starts it at the first call and after a crash. It exits with the worker. */
export async function getSharedChromium(kind: BrowserKind): Promise<Browser> {
  const running = await browsers.get(kind)?.catch(() => undefined);
  if (running?.isConnected()) return running;
  const browser = launchChromium(kind);
  browsers.set(kind, browser);
  return browser;
}

/** Starts the installed Chromium. Uses the full browser if the headless shell is not installed. */
function launchChromium(kind: BrowserKind): Promise<Browser> {
  const executablePath = (kind === "headless-shell" ? headlessChromiumCommand() : undefined) ?? chromiumCommand();
  if (!executablePath) throw new Error("chromium is not on the PATH");
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
}
