import { createDatabase } from "@parley/test-support";
import { describe, expect, it } from "vitest";
import { useGiven } from "./database.ts";

describe("useGiven", () => {
  it("describes the server without its password, and leaves it running", async () => {
    const database = await createDatabase();
    const { description, stop } = await useGiven(database.url);
    const { port, password } = new URL(database.url);
    expect(description).toMatch(new RegExp(`^PostgreSQL \\d+\\.\\d+ at 127\\.0\\.0\\.1:${port}/${database.name}$`));
    expect(description).not.toContain(password);
    await stop();
    await useGiven(database.url);
    await database.drop();
  });

  it("says that the server has no such database", async () => {
    const database = await createDatabase();
    await database.drop();
    await expect(useGiven(database.url)).rejects.toThrow(
      "cannot use DATABASE_URL: the server has no such database: create it first",
    );
  });

  it("says that the server refuses the password", async () => {
    const database = await createDatabase();
    const url = new URL(database.url);
    url.password = "wrong";
    await expect(useGiven(url.href)).rejects.toThrow(
      "cannot use DATABASE_URL: the server refuses its user or password",
    );
    await database.drop();
  });
});
