export { readUnpaidToday, resetUnpaid } from "./unpaid.store.ts";
export { TODAY, UNPAID_LIMIT } from "./unpaid-limit.ts";
