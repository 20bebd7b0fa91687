import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { ResultsReporter } from "../../tools/test-results.ts";

const resultsFile = process.env.PARLEY_TEST_RESULTS;

// Not a project of the root configuration, because the tests need a Kubernetes cluster, which main.ts finds or creates.
export default defineConfig({
  test: {
    name: "cluster",
    reporters: ["default", ...(resultsFile ? [new ResultsReporter(resultsFile)] : [])],
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["tests/cluster/**/*.cluster.test.ts"],
    setupFiles: ["tests/cluster/setup.ts"],
    fileParallelism: false,
    disableConsoleIntercept: true,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
