/** The services with admin services, by proto package name. */
export type AdminService = "conversation" | "quota" | "llm";
