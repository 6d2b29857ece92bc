package lakesmith;

import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.hadoop.HadoopFileIO;

/**
 * Files of tables on this machine, with the settings of Hadoop that somebody made, and none of its thousand defaults.
 *
 * <p>Iceberg sends a table's settings to each task, and copies them for each file that it opens. What is not set has
 * the same default in Hadoop's code.
 */
public final class TableFiles extends HadoopFileIO {
    private static final String DEFAULTS = "-default.xml";

    @Override
    public void setConf(Configuration conf) {
        Configuration made = new Configuration(false);
        for (Map.Entry<String, String> setting : conf) {
            String[] sources = conf.getPropertySources(setting.getKey());
            if (sources == null || !sources[sources.length - 1].endsWith(DEFAULTS)) {
                made.set(setting.getKey(), conf.get(setting.getKey()));
            }
        }
        super.setConf(made);
    }
}
