import { createDatabase } from "@parley/test-support";
import { describe, expect, it } from "vitest";
import { openExternalDatabase } from "./database.ts";

describe("openExternalDatabase", () => {
  it("returns a description without the password, and a stop() that leaves the server running", async () => {
    const database = await createDatabase();
    const { description, stop } = await openExternalDatabase(database.url);
    const { port, password } = new URL(database.url);
    expect(description).toMatch(new RegExp(`^PostgreSQL \\d+\\.\\d+ at 127\\.0\\.0\\.1:${port}/${database.name}$`));
    expect(description).not.toContain(password);
    await stop();
    await openExternalDatabase(database.url);
    await database.drop();
  });

  it("reports a missing database", async () => {
    const database = await createDatabase();
    await database.drop();
    await expect(openExternalDatabase(database.url)).rejects.toThrow(
      "cannot use DATABASE_URL: the database does not exist: create it first",
    );
  });

  it("reports a refused password", async () => {
    const database = await createDatabase();
    const url = new URL(database.url);
    url.password = "wrong";
    await expect(openExternalDatabase(url.href)).rejects.toThrow(
      "cannot use DATABASE_URL: the server refuses the user or password: correct them",
    );
    await database.drop();
  });
});
