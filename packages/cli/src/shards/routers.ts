import { execFile } from "node:child_process";
import { rename, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { urlOfShard } from "@parley/service-kit/migrations";
import { CliError } from "../errors.ts";
import { messageOf, queryOnce } from "./connect.ts";
import { HAS_STATE, type Move } from "./move-state.ts";
import { createConfigFile } from "./pgdog-config.ts";
import { requirePlacements } from "./survey.ts";

/** How the routers learn where a shard is. */
export type RouterSwitch = {
  /** Where to write the new pgdog.toml, or values.yaml if the name ends in .yaml. */
  configFile: string | undefined;
  /** A shell command that applies the new configuration. */
  reload: string | undefined;
  /** The routers' admin databases, in which RELOAD reads the configuration again. */
  adminUrls: readonly string[];
  systemVariables: Readonly<Record<string, string>>;
  progress: (line: string) => void;
};

const SWITCH_TIMEOUT_MS = 120_000;
const POLL_MS = 200;

/** Applies the new configuration to the routers, and waits until the shard's alias leads to the new server. */
export async function switchRouters(
  move: Move,
  { configFile, reload, adminUrls, systemVariables, progress }: RouterSwitch,
): Promise<void> {
  if (configFile !== undefined) await writeConfig(move, configFile);
  if (reload !== undefined) await runCommand(reload, systemVariables);
  const failures = await Promise.all(
    adminUrls.map(async (url) => {
      try {
        await queryOnce(url, "RELOAD");
        return [];
      } catch (error) {
        return [`router ${new URL(url).host}: ${messageOf(error)}`];
      }
    }),
  );
  if (failures.flat().length > 0) throw new CliError(failures.flat().join("; "));
  const deadline = performance.now() + SWITCH_TIMEOUT_MS;
  let reported: string | undefined;
  for (let reason = await findReason(move); reason !== undefined; reason = await findReason(move)) {
    if (reason !== reported) progress(`waiting for the router: ${reason}`);
    reported = reason;
    if (performance.now() > deadline)
      throw new CliError(
        `the router does not lead shard ${move.shard} to ${move.target.name} yet (${reason}): apply parley shards config, and run this command again`,
      );
    await sleep(POLL_MS);
  }
}

async function writeConfig({ settings }: Move, path: string): Promise<void> {
  const file = path.endsWith(".yaml") ? "values.yaml" : "pgdog.toml";
  const content = createConfigFile(file, settings, await requirePlacements(settings), {
    poolSize: 0,
    aliasPoolSize: 0,
  });
  // A router that reads the file meanwhile sees the old file or the new one.
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

async function runCommand(command: string, env: Readonly<Record<string, string>>): Promise<void> {
  try {
    await promisify(execFile)("/bin/sh", ["-c", command], { env });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    throw new CliError(`the reload command failed: ${stderr.trim() || messageOf(error)}`, { cause: error });
  }
}

/** Returns why the router does not lead to the new database, which alone has the move's state; undefined if it does. */
async function findReason({ settings, shard }: Move): Promise<string | undefined> {
  try {
    const [row] = await queryOnce<{ isMoved: boolean }>(
      urlOfShard(settings.routerUrl, shard),
      `SELECT ${HAS_STATE} AS "isMoved"`,
    );
    return row?.isMoved ? undefined : "the alias leads to the old database";
  } catch (error) {
    return messageOf(error);
  }
}
