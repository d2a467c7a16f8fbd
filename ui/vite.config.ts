import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  // The server embeds dist and serves it at its root; relative addresses also survive a path prefix of a proxy.
  base: "./",
  plugins: [react()],
  build: { target: "es2023", modulePreload: { polyfill: false } },
});
