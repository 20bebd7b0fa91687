import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Apart from the other rings: it needs a Docker daemon and minutes, and builds every image.
export default defineConfig({
  test: {
    name: "images",
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["tests/images/**/*.images.test.ts"],
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 900_000,
  },
});
