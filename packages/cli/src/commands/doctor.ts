import { resolve } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { Argument, type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { Config } from "../config.ts";
import type { Context } from "../context.ts";
import { diagnose } from "../doctor/diagnose.ts";
import { PROXIES } from "../doctor/proxies.ts";
import { reportDiagnosis } from "../doctor/report.ts";
import { CliError } from "../errors.ts";
import { refuseEmpty, wholeNumberParser } from "./options.ts";
import { readInputFile } from "./read-input-file.ts";

/** The edge sends a heartbeat after 15 s of silence, so a reply's stream is never silent for longer. 20 s leaves a margin. */
const DEFAULT_SILENCE_SECONDS = 20;
const MAX_SILENCE_SECONDS = 30;

export function addDoctorCommand(program: CommandUnknownOpts, context: Context): void {
  program
    .command("doctor")
    .description("Diagnose streaming through the public URL.")
    .addArgument(
      new Argument("<url>", "Use this public URL, such as https://chat.example.com.").argParser(parsePublicUrl),
    )
    .requiredOption("--public-key <key>", "Use the public key of any bot.", refuseEmpty)
    .requiredOption("--origin <origin>", "Use an allowed origin, such as https://www.example.com.", parseOrigin)
    .option("--quick", "Skip the idle timeout check.")
    .addOption(
      new Option("--silence <seconds>", "Set the silence that streams must survive.")
        .argParser(wholeNumberParser(1, MAX_SILENCE_SECONDS))
        .default(DEFAULT_SILENCE_SECONDS)
        .conflicts("quick"),
    )
    .addOption(new Option("--proxy <name>", "Name the proxy, if not detected.").choices(PROXIES))
    .option("--visitor-token-file <file>", "Check this visitor token; - for stdin.", refuseEmpty)
    .addHelpText(
      "after",
      `
Exits 1 when a check fails and 0 when checks only warn. Calls no model and uses no quota.
PARLEY_VISITOR_TOKEN may hold the visitor token. It is not printed, and only sent to a server with a valid certificate, or
without TLS on a local machine or network.`,
    )
    .action((url, { publicKey, origin, quick, silence, proxy, visitorTokenFile }) =>
      context.report(
        readVisitorToken(context, visitorTokenFile)
          .then((visitorToken) =>
            diagnose({
              url,
              publicKey,
              origin,
              proxy,
              visitorToken,
              progress: context.progress,
              silenceMs: quick ? undefined : silence * 1_000,
            }),
          )
          .then((diagnosis) => reportDiagnosis(diagnosis, { url, origin })),
      ),
    );
}

/** Reads the token from the file, from stdin if the file is "-", or from the environment. Returns undefined if there is none. */
export async function readVisitorToken(
  { config, stdin }: Pick<Context, "stdin"> & { config: Pick<Config, "filesDir" | "visitorToken"> },
  file: string | undefined,
): Promise<string | undefined> {
  if (file === undefined) return config.visitorToken?.trim();
  const read =
    file === "-" ? text(stdin ?? Readable.from([])) : readInputFile(resolve(config.filesDir, file)).then(String);
  const token = (await read).trim();
  if (token === "") throw new CliError(file === "-" ? "stdin has no visitor token" : `${file} is empty`);
  return token;
}

function parsePublicUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:")
    throw new InvalidArgumentError('Write it like "https://chat.example.com".');
  return new URL("/", url);
}

/** Returns the origin as browsers send it. */
export function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && url.href === `${url.origin}/`) return url.origin;
  throw new InvalidArgumentError('Write the scheme and host without a path, like "https://www.example.com".');
}
