import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { ResultsReporter } from "../../tools/test-results.ts";

const resultsFile = process.env.PARLEY_TEST_RESULTS;

// This configuration is separate from the root configuration, because its tests need a Docker daemon, build every image and take minutes.
export default defineConfig({
  test: {
    name: "images",
    reporters: ["default", ...(resultsFile ? [new ResultsReporter(resultsFile)] : [])],
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["tests/images/**/*.images.test.ts"],
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 900_000,
  },
});
