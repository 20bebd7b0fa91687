import type { NativeApi } from "../native-api.ts";
import { googleApi } from "./google.client.ts";

export const vertexApi: NativeApi = {
  async load() {
    const [{ createGoogleVertex }, { GoogleAuth }] = await Promise.all([
      import("@ai-sdk/google-vertex"),
      import("google-auth-library"),
    ]);
    // Finds the credentials as all libraries of Google do. Keeps the token, and renews it. Without a project, it would ask Google's servers for one; the
    // URL has the project.
    const auth = new GoogleAuth({ projectId: "none", scopes: "https://www.googleapis.com/auth/cloud-platform" });
    return async ({ settings: { baseUrl, headers }, model, fetch }) => {
      const googleAuthOptions = { authClient: await auth.getClient() };
      return createGoogleVertex({ baseURL: baseUrl, headers: { ...headers }, fetch, googleAuthOptions })(model);
    };
  },
  // The models of Vertex are Google's.
  loadOffline: googleApi.load,
};
