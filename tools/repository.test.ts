import { expect, test } from "vitest";
import { readTypeScript } from "./repository.ts";

test("readTypeScript reads TypeScript files with and without JSX", async () => {
  const paths = (await readTypeScript()).map(({ path }) => path);
  for (const path of ["services/console/page/app.tsx", "tools/repository.ts"]) expect(paths).toContain(path);
});
