import { expect, test } from "vitest";
import { listRouterUrls } from "./routers.ts";

test("a move asks the routers' common address, and each router whose admin database is known", () => {
  const routerUrl = "postgres://parley_admin:secret@router:6432/parley";
  expect(
    listRouterUrls({ routerUrl }, [
      "postgres://admin:other@10.0.0.7:6432/admin",
      "postgres://admin:other@router:6432/admin",
    ]),
  ).toEqual([routerUrl, "postgres://parley_admin:secret@10.0.0.7:6432/parley"]);
});
