import { MESSAGES, OWN_MESSAGES, startOwnersTestbed } from "../support/owners-testbed.ts";
import type { Benchmark } from "./benchmark.ts";
import { measureBulkExport } from "./bulk-export.ts";
import { measureScreens } from "./console-screens.ts";

/** The console's screens and the bulk export of an owner whose workspace is one of many in a large database. */
export const owners: Benchmark = {
  name: "owners",
  description: `the console's requests, and an export of ${OWN_MESSAGES.toLocaleString("en")} messages, with ${MESSAGES.toLocaleString("en")} messages stored`,
  whyMissed: "probably a statement that reads more rows than the screen shows; check the query plans",
  async run(options, progress) {
    const testbed = await startOwnersTestbed(options.scale, progress);
    try {
      return [
        ...(await measureScreens(testbed, options, progress)),
        ...(await measureBulkExport(testbed, options, progress)),
      ];
    } finally {
      await testbed.stop();
    }
  },
};
