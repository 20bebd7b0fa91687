import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Apart from the other rings: it proves nothing, it draws what the README shows.
export default defineConfig({
  test: {
    name: "pictures",
    root: fileURLToPath(new URL("../../..", import.meta.url)),
    include: ["tests/browser/pictures/**/*.pictures.test.ts"],
    globalSetup: ["tests/browser/global-setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
