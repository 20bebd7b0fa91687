import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Announcements } from "./components/announcements.tsx";
import { ignoreDroppedFiles } from "./components/dropped-files.ts";
import { keepFocusInScreen } from "./components/focus-neighbour.ts";
import { queryClient } from "./query-client.ts";
import { router } from "./router.tsx";

// The style elements of the dialog library need the nonce of the page's Content-Security-Policy.
setNonce(document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "");
ignoreDroppedFiles();
keepFocusInScreen();

createRoot(document.querySelector("#root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Announcements>
        <RouterProvider router={router} />
      </Announcements>
    </QueryClientProvider>
  </StrictMode>,
);
