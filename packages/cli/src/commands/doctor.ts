import { Argument, type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { Context } from "../context.ts";
import { diagnose } from "../doctor/diagnose.ts";
import { PROXIES } from "../doctor/proxies.ts";
import { report } from "../doctor/report.ts";
import { wholeNumber } from "./options.ts";

/** Longer than the 15 s after which the edge breaks a silence, so that what passes has something to spare. */
const SILENCE_SECONDS = 20;
const MAX_SILENCE_SECONDS = 30;

export function addDoctorCommand(program: CommandUnknownOpts, context: Context): void {
  program
    .command("doctor")
    .description(
      "stream through the public address as a visitor's browser does; say what breaks streams and how to mend it",
    )
    .addArgument(new Argument("<url>", "the public address, as in https://chat.example.com").argParser(publicUrl))
    .requiredOption("--public-key <key>", "a public key of any bot")
    .requiredOption("--origin <origin>", "a page's origin that the key allows, as in https://www.example.com", originOf)
    .option("--quick", "leave the silence out: 3 s instead of 25, and no idle timeout is found")
    .addOption(
      new Option("--silence <seconds>", "how long a silence must be lived through")
        .argParser(wholeNumber(1, MAX_SILENCE_SECONDS))
        .default(SILENCE_SECONDS)
        .conflicts("quick"),
    )
    .addOption(new Option("--proxy <name>", "what stands between, where it does not show").choices(PROXIES))
    .addHelpText(
      "after",
      "\nExit code 1 when something is broken; warnings are 0. No model is asked and nothing is counted.",
    )
    .action((url, { publicKey, origin, quick, silence, proxy }) =>
      context.report(
        diagnose({
          ...{ url, publicKey, origin, proxy, progress: context.progress },
          silenceMs: quick ? undefined : silence * 1_000,
        }).then((diagnosis) => report(diagnosis, { url, origin })),
      ),
    );
}

function publicUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:")
    throw new InvalidArgumentError('It is written like "https://chat.example.com".');
  return new URL("/", url);
}

function originOf(text: string): string {
  if (URL.canParse(text) && new URL(text).origin !== "null" && !text.endsWith("/")) return text;
  throw new InvalidArgumentError('An origin is a scheme and a host, without a path: "https://www.example.com".');
}
