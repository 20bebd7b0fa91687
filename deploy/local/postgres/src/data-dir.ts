import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LocalPostgresError } from "./errors.ts";
import type { Installation } from "./installation.ts";
import { SUPERUSER } from "./probe-server.ts";
import { run, type SystemUser } from "./run.ts";

export interface InitOptions {
  password: string;
  /** For tests: initdb does not flush the files to disk. */
  fast: boolean;
  log: (line: string) => void;
}

/** Initialises the data directory if it is missing or empty. Throws if it contains data of another major version, or files of another program. */
export async function ensureDataDir(installation: Installation, options: InitOptions): Promise<void> {
  const major = installation.binaries.version.split(".")[0] ?? "";
  const foundMajor = await readMajorVersion(installation.dataDir);
  if (foundMajor === undefined) {
    await refuseForeignFiles(installation.dataDir);
    options.log(`initialising a PostgreSQL ${major} database`);
    await initialise(installation, options);
  } else if (foundMajor !== major) {
    throw new LocalPostgresError(
      "other_major_version",
      `The data in ${installation.dataDir} was written by PostgreSQL ${foundMajor}, but Parley uses PostgreSQL ${major}: dump the data with version ${foundMajor} and move the directory away, or set DATABASE_URL to a server of version ${foundMajor}.`,
    );
  }
}

/** Runs initdb in a temporary directory and then renames that directory, so that an interrupted run leaves no incomplete data directory. */
async function initialise(installation: Installation, { password, fast }: InitOptions): Promise<void> {
  const temporaryDir = `${installation.dataDir}.new`;
  const secretDir = `${installation.dataDir}.secret`;
  await rm(temporaryDir, { recursive: true, force: true });
  await rm(secretDir, { recursive: true, force: true });
  await mkdir(temporaryDir, { mode: 0o700 });
  await changeOwner(installation.owner, temporaryDir);
  await mkdir(secretDir, { mode: 0o700 });
  try {
    const passwordFile = join(secretDir, "password");
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    for (const path of [passwordFile, secretDir]) await changeOwner(installation.owner, path);
    const args = [
      `--pgdata=${temporaryDir}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      // The built-in collation is the same on every system.
      "--locale=C",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
    ];
    if (fast) args.push("--no-sync");
    await run(join(installation.binaries.dir, "bin", "initdb"), args, { user: installation.owner });
    await rename(temporaryDir, installation.dataDir);
  } finally {
    await rm(secretDir, { recursive: true, force: true });
    await rm(temporaryDir, { recursive: true, force: true });
  }
}

async function changeOwner(owner: SystemUser | undefined, path: string): Promise<void> {
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
