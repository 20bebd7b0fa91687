import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "./commands.ts";
import type { Installation } from "./installation.ts";
import type { Values } from "./values.ts";

const SERVICES = [
  ["conversation", "conversation"],
  ["quota", "quota"],
  ["llm-proxy", "llm"],
] as const;

const INDEX = `
import { migrations as current } from "./this-version.ts";
import { next } from "./next.js";

export const migrations = [...current, ...next];
`;

/**
 * Makes this version's images act as the next version: creates ConfigMaps that add the migrations of tests/migrations to each service's migrations,
 * and returns the values that mount them. Pods of the next version become ready only after these migrations have run.
 */
export async function prepareNextVersion(installation: Installation): Promise<Values> {
  const extraVolumes: object[] = [];
  const extraVolumeMounts: object[] = [];
  for (const [service, schema] of SERVICES) {
    const name = `next-${service}`;
    const folder = await mkdtemp(join(tmpdir(), "parley-next-version-"));
    try {
      await writeFile(join(folder, "index.ts"), INDEX);
      const thisVersion = await readFile(join(ROOT, "services", service, "migrations/index.ts"));
      await writeFile(join(folder, "this-version.ts"), thisVersion);
      await bundleNextMigrations(join(folder, "next.js"), schema, await listTables(installation, schema));
      await installation.kubectl("create", "configmap", name, `--from-file=${folder}`);
    } finally {
      await rm(folder, { recursive: true });
    }
    extraVolumes.push({ name, configMap: { name } });
    for (const file of ["index.ts", "this-version.ts", "next.js"]) {
      extraVolumeMounts.push({ name, mountPath: `/app/services/${service}/migrations/${file}`, subPath: file });
    }
  }
  return { pod: { extraVolumes, extraVolumeMounts } };
}

async function listTables(installation: Installation, schema: string): Promise<string[]> {
  const where = `schemaname = '${schema}' AND tablename NOT LIKE 'migrations%'`;
  return (await installation.query(`SELECT tablename FROM pg_tables WHERE ${where}`)).trim().split("\n");
}

async function bundleNextMigrations(outfile: string, schema: string, tables: readonly string[]): Promise<void> {
  await build({
    stdin: {
      contents: `
        import { nextVersionMigrations } from "./next-migrations.ts";
        export const next = nextVersionMigrations(${JSON.stringify(schema)}, ${JSON.stringify(tables)});`,
      resolveDir: join(ROOT, "tests/migrations"),
    },
    outfile,
    bundle: true,
    // The service has this package.
    external: ["@parley/service-kit/migrations"],
    platform: "node",
    format: "esm",
  });
}
