import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { markdown } from "./markdown";

export default defineConfig({
  // The server embeds dist and serves it at its root; relative addresses also survive a path prefix of a proxy.
  base: "./",
  plugins: [markdown(), react()],
  build: { target: "es2023", modulePreload: { polyfill: false } },
});
