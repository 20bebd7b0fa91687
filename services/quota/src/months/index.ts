export { handleListMonths } from "./list-months.rpc.ts";
