import { expect, it } from "vitest";
import { parseOrigin } from "./doctor.ts";

it("parseOrigin returns the origin as browsers send it, and refuses a path, a query, a missing scheme and a file URL", () => {
  expect(parseOrigin("https://www.example.com")).toBe("https://www.example.com");
  expect(parseOrigin("https://WWW.Example.com:443")).toBe("https://www.example.com");
  expect(parseOrigin("http://localhost:8080")).toBe("http://localhost:8080");
  for (const text of ["https://www.example.com/shop", "https://www.example.com?x=1", "example.com", "file:///tmp"])
    expect(() => parseOrigin(text)).toThrow("without a path");
});
