import { beforeEach } from "vitest";

let hasFailed: boolean = false;

// Each case of a file continues with the installation of the one before it, so a failed case ends its file. The other files run.
beforeEach(({ skip, onTestFailed }) => {
  if (hasFailed) skip("an earlier case of this file failed");
  onTestFailed(() => {
    hasFailed = true;
  });
});
