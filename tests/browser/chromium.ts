import { chromiumCommand } from "@parley/testing";
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

/** Starts the machine's own Chromium. */
export function launchChromium(): Promise<Browser> {
  const executablePath = chromiumCommand();
  if (!executablePath) throw new Error("there is no chromium on the PATH");
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
}
