export { createCreditAdmin } from "./credits.admin.ts";
