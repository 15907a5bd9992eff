import { seen } from './app.js'

seen().then((all) => console.log(JSON.stringify(all)))
