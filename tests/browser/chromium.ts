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

/** The whole browser, as visitors have it, or only what is inside its windows. */
export type BrowserKind = "whole" | "pages";

/** Starts the machine's own Chromium; where it cannot be had without its windows, the whole of it. */
export function launchChromium(kind: BrowserKind): Promise<Browser> {
  const executablePath = (kind === "pages" ? headlessChromiumCommand() : undefined) ?? chromiumCommand();
  if (!executablePath) throw new Error("there is no chromium on the PATH");
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
}
