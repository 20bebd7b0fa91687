import { createDatabase, describeWith } from "@parley/test-support";
import { expect, it, onTestFinished } from "vitest";
import { copyWithPsql } from "./psql.ts";

describeWith("debian-postgres", "copyWithPsql", () => {
  it("returns the number of copied bytes and the seconds that the copy took", async () => {
    const database = await createDatabase();
    onTestFinished(() => database.drop());
    expect(await copyWithPsql(database.url, "SELECT 'ten bytes'")).toEqual({
      bytes: "ten bytes\n".length,
      seconds: expect.any(Number),
    });
  });

  it("throws with psql's exit code when the query fails", async () => {
    const database = await createDatabase();
    onTestFinished(() => database.drop());
    await expect(copyWithPsql(database.url, "SELECT nothing")).rejects.toThrow("psql exited with 1");
  });
});
