import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// This configuration is separate from the root configuration, because its tests create docs/pictures for the README and the documents.
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
