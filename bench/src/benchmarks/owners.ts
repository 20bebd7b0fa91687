import { MESSAGES, OWN_MESSAGES, startOwnersTestbed } from "../support/owners-testbed.ts";
import type { Benchmark } from "./benchmark.ts";
import { measureBulkExport } from "./bulk-export.ts";
import { measureScreens } from "./console-screens.ts";
import { measureExportNeighbour } from "./export-neighbour.ts";

/** The console's screens and the bulk export of an owner whose workspace is one of many in a large database. */
export const owners: Benchmark = {
  name: "owners",
  description: `the console's requests, and an export of ${OWN_MESSAGES.toLocaleString("en")} messages, with ${MESSAGES.toLocaleString("en")} messages stored`,
  whyMissed:
    "slow screens: check the query plans; slow chats: compare the CPU per chat of each process, because all share the machine's cores",
  async run(options, progress) {
    const testbed = await startOwnersTestbed(options.scale, progress);
    try {
      return [
        ...(await measureScreens(testbed, options, progress)),
        ...(await measureBulkExport(testbed, options, progress)),
        ...(await measureExportNeighbour(testbed, options, progress)),
      ];
    } finally {
      await testbed.stop();
    }
  },
};
