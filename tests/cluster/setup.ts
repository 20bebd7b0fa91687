import { beforeEach } from "vitest";

let hasFailed: boolean = false;

// The tests of a file run in order on one installation, so after a failure the rest of the file is skipped.
beforeEach(({ skip, onTestFailed }) => {
  if (hasFailed) skip("an earlier test of this file failed");
  onTestFailed(() => {
    hasFailed = true;
  });
});
