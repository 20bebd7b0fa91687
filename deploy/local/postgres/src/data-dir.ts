import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { superuser } from "./answers.ts";
import { LocalPostgresError } from "./errors.ts";
import type { Place } from "./place.ts";
import { type Owner, run } from "./run.ts";

export interface InitOptions {
  password: string;
  fast: boolean;
  log: (line: string) => void;
}

/** Initialises the data directory if it is empty. Throws if it contains other data. */
export async function ensureDataDir(place: Place, options: InitOptions): Promise<void> {
  const major = place.binaries.version.split(".")[0] ?? "";
  const foundMajor = await readMajorVersion(place.dataDir);
  if (foundMajor === undefined) {
    await refuseForeignFiles(place.dataDir);
    options.log(`initialising a PostgreSQL ${major} database`);
    await initialise(place, options);
  } else if (foundMajor !== major) {
    throw new LocalPostgresError(
      "other_major_version",
      `The data in ${place.dataDir} was written by PostgreSQL ${foundMajor}, but this is PostgreSQL ${major}: dump it with version ${foundMajor} and move the directory away, or set DATABASE_URL to a server of version ${foundMajor}.`,
    );
  }
}

/** Runs initdb in a temporary directory and renames it, so that an interrupted run leaves no incomplete data directory. */
async function initialise(place: Place, { password, fast }: InitOptions): Promise<void> {
  const draft = `${place.dataDir}.new`;
  const secretDir = `${place.dataDir}.secret`;
  await rm(draft, { recursive: true, force: true });
  await rm(secretDir, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await giveTo(place.owner, draft);
  await mkdir(secretDir, { mode: 0o700 });
  try {
    const passwordFile = join(secretDir, "password");
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    for (const path of [passwordFile, secretDir]) await giveTo(place.owner, path);
    const args = [
      `--pgdata=${draft}`,
      `--username=${superuser}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      // The built-in collation is the same on every system.
      "--locale=C",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
    ];
    if (fast) args.push("--no-sync");
    await run(join(place.binaries.dir, "bin", "initdb"), args, { owner: place.owner });
    await rename(draft, place.dataDir);
  } finally {
    await rm(secretDir, { recursive: true, force: true });
    await rm(draft, { recursive: true, force: true });
  }
}

async function giveTo(owner: Owner | undefined, path: string): Promise<void> {
  if (owner) await chown(path, owner.uid, owner.gid);
}

async function readMajorVersion(dataDir: string): Promise<string | undefined> {
  const text = await readFile(join(dataDir, "PG_VERSION"), "utf8").catch(undefinedIfMissing);
  return text?.trim();
}

async function refuseForeignFiles(dataDir: string): Promise<void> {
  const names = await readdir(dataDir).catch(undefinedIfMissing);
  if (!names?.length) return;
  throw new LocalPostgresError(
    "foreign_data_dir",
    `${dataDir} contains files but no PostgreSQL database: choose another data directory, or move those files away.`,
  );
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
