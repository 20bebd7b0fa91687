import { beforeEach } from "vitest";

let hasFailed: boolean = false;

// The tests of a file run in order on one installation, so after a failed test the file's other tests are skipped. Other files still run.
beforeEach(({ skip, onTestFailed }) => {
  if (hasFailed) skip("an earlier test of this file failed");
  onTestFailed(() => {
    hasFailed = true;
  });
});
