import { MESSAGES, OWNER_WORKSPACE_MESSAGES, startOwnersTestbed } from "../support/owners-testbed.ts";
import type { Benchmark } from "./benchmark.ts";
import { measureBulkExport } from "./bulk-export.ts";
import { measureScreens } from "./console-screens.ts";
import { measureExportNeighbour } from "./export-neighbour.ts";

export const owners: Benchmark = {
  name: "owners",
  description: `with ${MESSAGES.toLocaleString("en")} stored messages: the console's screens, an export of ${OWNER_WORKSPACE_MESSAGES.toLocaleString("en")} messages, and another workspace's chats during an export`,
  hintIfMissed:
    "slow screens: check the query plans; slow chats: compare each process's CPU per chat without and during an export, because all processes share the machine's cores",
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
